from limnos.builtin.code.tools import plugin

plugin.run()
