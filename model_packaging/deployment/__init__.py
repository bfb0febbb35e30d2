"""The deployment file as frozen types, its lock, and the pages generated from the types.

    vocabulary  labels places secret_references section overrides parameters
    sections    models pools data tenants intents tools timing aws on_prem
    the whole   fields (all sections) -> deployment (the same, with the rules across sections)
    rules       references placement reachability residency
    files       loading (strict YAML -> Deployment), lock (what `build` resolved)
    generated   reference -> docs/deployment-reference.md and docs/deployment.schema.json

A deployment that exists has passed every rule: nothing else in this repository checks one again.

    from pathlib import Path
    from model_packaging.deployment.loading import load_deployment

    deployment = load_deployment(Path("deployments/demo.yaml"))
    deployment.pools_in(Place.ON_PREM)
"""
