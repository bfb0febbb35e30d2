"""The assistant: what happens between a chat request and its answer, without any I/O of its own.

    admit -> label -> pools -> route -> prompt
          -> attempt (the model picks tools) -> tools -> answer -> stream

Everything outside is behind a Protocol: `ModelBackend` and `Tools` do the calls, `Clock` tells the
time, and the ASGI app is handed an `Identify`. So the same code runs in the on-prem gateway and in
a function, and the tests drive it with fakes in virtual time.

    plan = read_plan(Path("rendered/demo/on_prem/request_plan.json"))
    assistant = Assistant(plan=plan, backends=backends, tools=tools, clock=SystemClock())
    app = ChatApp(assistant=assistant, identify=identify, tracer=tracer)
"""
