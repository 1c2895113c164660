from limnos.builtin.terminals.tools import plugin

plugin.run()
