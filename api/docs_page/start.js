// Relative, so that the page works below a path of a reverse proxy too. The validator would send the document elsewhere.
SwaggerUIBundle({
  url: "v1/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  docExpansion: "none",
  defaultModelsExpandDepth: 0,
  filter: true,
  validatorUrl: null,
});
