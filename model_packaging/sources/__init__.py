"""From the address of a model in a registry to its files in a staging folder.

address   the forms an address may take, parsed
resolved  what an address stood for at one moment: version, ids, and how it was trained
registry  an MLflow server: resolve, list, download, look again
names     which file names may come in at all
layout    which of MLflow's ways of laying out a model this is
"""
