"""The waiting of captured messages: a model of it by discrete events, and the same load on real workers."""
