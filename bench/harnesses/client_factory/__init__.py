"""OmniMemEval of MemTensor (Python), whose clients need no base class."""
