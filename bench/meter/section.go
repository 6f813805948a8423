package meter

import (
	"fmt"
	"os"
	"strings"
)

// WriteSection replaces what stands in a Markdown file between the lines <!-- NAME --> and <!-- /NAME -->. It fails when
// the file has no such lines.
func WriteSection(path, name, text string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	fresh, err := replaceSection(string(old), name, text)
	if err != nil {
		return fmt.Errorf("writing into %s: %w", path, err)
	}
	return os.WriteFile(path, []byte(fresh), 0o644)
}

func replaceSection(old, name, text string) (string, error) {
	head, rest, begins := strings.Cut(old, "<!-- "+name+" -->\n")
	_, tail, ends := strings.Cut(rest, "<!-- /"+name+" -->")
	if !begins || !ends {
		return "", fmt.Errorf("the lines <!-- %s --> and <!-- /%s --> are not in it", name, name)
	}
	return head + "<!-- " + name + " -->\n" + strings.TrimSpace(text) + "\n<!-- /" + name + " -->" + tail, nil
}
