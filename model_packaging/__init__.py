"""One MLflow model becomes one verified package, and a deployment becomes what each place reads.

    sources/      a registry address -> a pinned version -> its files in a staging folder
    package/      those files -> a flat, checked model directory with a manifest -> the store
    deployment/   deployments/<name>.yaml and its lock, as frozen types
    render/       deployment + lock + manifests -> engine arguments, request plans and prompts
    cli/          the command `package-model`

The shortest use is the command:

    package-model build deployments/demo.yaml
    package-model verify .perimeter/packages/analyst-small/3
    package-model render deployments/demo.yaml

Everything a caller may catch is in `model_packaging.errors`.
"""
