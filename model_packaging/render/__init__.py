"""What each place reads, as a pure function of deployment, lock and manifests.

    arguments          one list of engine arguments per model
      -> serve_yaml            on-prem: the file of `vllm serve --config`, and how vLLM expands it
      -> container_environment AWS: SM_VLLM_*, within SageMaker's limits
           container_rules     how AWS's container turns that environment into arguments
      -> parity                the two argument lists, compared
    prompts            the immutable start of every prompt, per intent
    plans              the request plan of each place
    fitting            does the package suit what the deployment asks of it
    rendering          all of the above -> {path: bytes};  writing: that -> a folder, in one step
    explaining         the same facts for a reader

Nothing here reads a clock, an environment variable or a file: equal inputs give equal bytes.
"""
