//! Nothing: the program is in the tests.
