package rotate

// RotateCommand is what journals call it.
const RotateCommand = "rotate"

// PruneCommand is what journals call it.
const PruneCommand = "rotate prune"
