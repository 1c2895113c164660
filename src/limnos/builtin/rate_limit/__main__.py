from limnos.builtin.rate_limit.guard import plugin

plugin.run()
