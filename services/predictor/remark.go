package predictor

import "triptych/shared/modelserver"

var _ modelserver.Remarker = (*model)(nil)

// Remark says why the model does not run where it was asked to, if so.
func (m *model) Remark() string { return m.session.Remark() }
