// Shows the API's schema; requests that are tried out prove with the page's own cookie that the page sent them.
const place = document.currentScript;

window.addEventListener("DOMContentLoaded", () => {
  window.SwaggerUIBundle({
    url: place.dataset.schema,
    dom_id: "#docs",
    deepLinking: true,
    docExpansion: "none",
    requestInterceptor: (request) => {
      const token = document.cookie.match(/(?:^|;\s*)csrftoken=([^;]+)/);
      if (token) request.headers["X-CSRFToken"] = token[1];
      return request;
    },
  });
});
