"""The plugins that come with limnos, each started as a process of its own; nobody imports them."""
