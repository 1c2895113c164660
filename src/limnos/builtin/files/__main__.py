from limnos.builtin.files.tools import plugin

plugin.run()
