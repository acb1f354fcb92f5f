package plugin
