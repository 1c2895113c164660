from limnos.builtin.redact.guard import plugin

plugin.run()
