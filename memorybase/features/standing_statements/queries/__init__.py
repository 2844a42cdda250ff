"""SQL of what end users said.

statements   standing statements: rows of messages, what people made of them, and whose they are
profile      messages in which a person describes themselves
"""
