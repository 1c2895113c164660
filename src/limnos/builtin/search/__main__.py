from limnos.builtin.search.tools import plugin

plugin.run()
