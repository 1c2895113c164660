from limnos.builtin.health.tools import plugin

plugin.run()
