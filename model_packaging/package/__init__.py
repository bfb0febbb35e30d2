"""From the files of one model to a package in the store, and back to the question "is it whole?".

names        which file names may be in a model, and what each is for
canonical    a download -> one flat directory that every reader reads alike
dialect      the JSON files in the form that transformers 4.57 and 5.x both understand
architecture which tensors, of which shape, a configuration asks for
chat         the chat template, rendered as the engines render it
golden       renders and tool calls that identify a model by its behaviour
manifest     what a package says about itself
store        content-addressed files, published by one rename
building     all of the above in order
verifying    a package directory -> its manifest, or what is wrong with it
verify       the checks themselves, in one file that every package carries
"""
