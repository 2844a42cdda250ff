"""A package, so that pytest ends the fixtures of scope `package` with the last of these tests."""
