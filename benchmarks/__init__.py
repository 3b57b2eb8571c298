"""Speed against peers. Never part of the test run: times depend on the machine. See README.md."""
