"""Ways out of the assistant: engines and tools, each behind the Protocol that `assistant` defines.

engine = VllmBackend(client, key=key)          # a `ModelBackend`
tools = HttpTools(client)                      # `Tools`
"""
