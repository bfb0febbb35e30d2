"""The on-prem shell of the request path: settings, keys and plan from files, uvicorn around it.

    PERIMETER_PLAN=/etc/perimeter/rendered/on_prem/request_plan.json \\
    PERIMETER_CLIENTS_FILE=/etc/perimeter/clients python -m lambdas.gateway

It imports no cloud SDK, so no call to a cloud can exist in it.
"""
