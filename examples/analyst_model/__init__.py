"""Two small Qwen3 models that call the tools of a bank's book, trained from random weights in
minutes on two cores.

Parts: `prompt` (the system text and tools, read from ``deployments/demo.yaml``), `names`, `values`
and `phrasing` (what a request is made of, each split into training and held-out), `answers` (tool
results and final sentences), `conversations` (whole rows), `tokenizer`, `network`, `batches` and
`train` (the recipe), `evaluate` (held-out accuracy through vLLM's own parser) and `register` (logs
weights, data, seed, code version and metrics to MLflow).

Retrain both with ``make models``; the committed result lies in ``weights/small`` and
``weights/large``.
"""
