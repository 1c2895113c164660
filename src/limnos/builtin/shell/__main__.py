from limnos.builtin.shell.tools import plugin

plugin.run()
