"""The request path: from a chat request to an answer, with every figure fetched by a tool.

`assistant` decides (labels, pools, deadline, tool loop) and speaks the OpenAI chat-completions API
as one ASGI app; it opens no socket itself. `backends` are the ways out: an engine over HTTP, tools
over HTTP. `gateway` is the on-prem shell that joins the two and runs as a service.
"""
