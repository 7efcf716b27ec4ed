from semisvm.tasks.many_beliefs import ManyScoreBlock as ManyScoreBlock
from semisvm.tasks.many_beliefs import ManyScoreRows as ManyScoreRows
from semisvm.tasks.one_score import OneScoreBlock as OneScoreBlock
from semisvm.tasks.one_score_driver import OneScoreRows as OneScoreRows
