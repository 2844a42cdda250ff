"""The web page at /ui: what was remembered, what a model was given, and the buttons to try and to correct it.

HTML from the server: Jinja2 renders, htmx replaces parts of a page, one script does the rest. Reading order:

    site             the application below /ui and its routes; `site.mount` adds it to the API's
    visits           the signed-in key behind a request, its calls of the domain, its pages
    rendering        Jinja2: filters and globals of all templates
    responses        a whole page, a live part, a redirect with a notice
    deadlines        how long a page waits for a part that may hang
    same_origin      refuses what other sites cause; csrf: the token in each form
    sign_in          signing in and out
    problems         error pages
    views/           one module for each view; templates/ has one file for each, components/ their macros
    badges           words, tones and icons of all states; memory_state: what the page calls a memory base
    static/          tokens.css (all colours, sizes), page.css, page.js; htmx and the font as published

How a view is written:

    @router.get("/jobs")
    async def jobs(visit: Visitor, memory: str = "") -> Response:
        found = await visit.read(jobs_queries.list_all, ...)       # domain functions, in a thread
        return visit.page("jobs.html", place="jobs", title="Jobs", found=found)

    @router.post("/jobs/retry")
    async def retry(visit: Visitor, ids: Annotated[list[UUID], Form()]) -> Response:
        await visit.write(...)
        return visit.done("/jobs", "2 messages are retried.")      # 303 and a notice, with htmx or without

- A part that needs a store or Redis is an address of its own: `{% call part(url) %}` loads it after the page, and
  `visit.within(visit.deadlines.search, function, ...)` ends it with an error that names the part.
- A part that changes by itself: `visit.live("jobs_table.html", ...)`, which answers 204 while nothing has changed.
- A page is a call that features may record, unless it declares `@without_content`; a form always is. `@recorded_as`
  gives it the name of the API's operation that does the same.
- Addresses hold filter, order, page and tab. Templates name colours, sizes and widths by classes or SVG attributes.
"""
