"""The HTTP API. It validates requests and calls the domain; it holds no domain logic.

app            the application: middleware, routers, lifespan
server         `python -m api`: uvicorn with bounds
http_protocol  one connection: deadlines, size of headers
connections    how many connections are open
file_limit     how many files may be open
bodies         bounds on request bodies
middleware     headers of every answer, encoded ids
deps           what routes receive: services, caller, page, ids; checks of every call with a key
operations     what holds for an operation: declared on its route by `@operation`
key_limits     what a limited key may name in a request
calls          what features that keep a record of calls are told
idempotency    carries a request with an Idempotency-Key out once
admission      how much work of each class is in progress
shared_polls   polls that many requests share
limits         rate limits by key and address
routes         the endpoints, one module per resource, with the bodies that it alone takes
schemas        bodies of several, each field with its description (search_schemas, context_schemas, ...)
failures       errors as JSON
locations      where a request finds what it created
waiting        waiting for jobs, and their event streams
contract       completes the OpenAPI document: types of plain JSON, headers, errors
openapi        writes docs/reference/openapi.json
docs_page      the reference page at /docs
mcp            the MCP server at /mcp
web            the web page
"""
