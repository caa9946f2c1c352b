"""The real engines that tests run against, and what is known of them."""
