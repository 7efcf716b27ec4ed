from semisvm.labelling.records import ChangedError as ChangedError
from semisvm.labelling.records import LabelingError as LabelingError
from semisvm.labelling.session import LabelingSession as LabelingSession
