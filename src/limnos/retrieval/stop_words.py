"""Words that say nothing about what a text is about, folded, English and Chinese."""

_ENGLISH = """ a about above after again against ain all also am an and any are aren as at be because
been before being below between both but by can couldn could d did didn do does doesn doing don down
during each else few for from further had hadn has hasn have haven having he her here hers herself him
himself his how i if in into is isn it its itself just ll m ma me might more most mustn my myself needn
no nor not now o of off on once only or other our ours ourselves out over own re s same shan she should
shouldn so some such t than that the their theirs them themselves then there these they this those
through to too under until up us ve very was wasn we were weren what when where which while who whom
whose why will with won would wouldn y yes you your yours yourself yourselves
"""
_CHINESE = """
的 了 是 在 我 你 他 她 它 们 我们 你们 他们 她们 它们 咱们 和 与 或 及 也 都 就 还 又 而 但 但是 因为
所以 如果 那么 这 那 这个 那个 这些 那些 这里 那里 这样 那样 哪 哪个 哪些 哪里 什么 怎么 怎样 怎么样
为什么 谁 多少 几 吗 呢 吧 啊 呀 哦 嗯 着 过 地 得 之 其 于 以 把 被 让 给 从 到 对 向 为 很 太 更 最 不
没 没有 有 会 能 可以 要 想 说 上 下 里 中 一 一个 一下 一些 个 请 请问 自己 啦 嘛 么 并 并且 而且 然后
以及 关于 对于
"""
STOP_WORDS = frozenset((_ENGLISH + _CHINESE).split())
