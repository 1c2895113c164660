"""The host side of plugin processes: what they declare, how they are started, watched and spoken to."""
