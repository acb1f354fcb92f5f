package apply
