package plugin

import (
	"flag"
	"io"

	"k8s.io/klog/v2"
)

// LogTo has what Kubernetes' libraries log go to w as all other text does: servers'
// messages are in it. It is of the whole process, so main calls it, once.
func LogTo(w io.Writer) error {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{"logtostderr": "false", "alsologtostderr": "false", "stderrthreshold": "FATAL"} {
		if err := flags.Set(name, value); err != nil {
			return err
		}
	}
	klog.SetOutput(newScreen(w))
	return nil
}
