from limnos.builtin.git.tools import plugin

plugin.run()
