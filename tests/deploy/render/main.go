// render reads {"templates": {name: text}, "context": object} and writes {name: text}: a Helm chart's templates with
// the engine and the functions that Helm uses, without Helm. Functions that need a cluster or files of a chart are
// left out. Built with Debian's golang-github-masterminds-sprig-dev; see `make check-deploy`.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	yaml "gopkg.in/yaml.v3"
)

type request struct {
	Templates map[string]string      `json:"templates"`
	Context   map[string]interface{} `json:"context"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var asked request
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		return err
	}
	// As Helm does: a missing key is empty, not an error.
	engine := template.New("chart").Option("missingkey=zero")
	engine.Funcs(functions(engine))
	for name, text := range asked.Templates {
		if _, err := engine.New(name).Parse(text); err != nil {
			return err
		}
	}
	rendered := map[string]string{}
	for name := range asked.Templates {
		if strings.HasPrefix(path.Base(name), "_") {
			continue
		}
		asked.Context["Template"] = map[string]interface{}{"Name": name, "BasePath": path.Dir(name)}
		var text bytes.Buffer
		if err := engine.ExecuteTemplate(&text, name, asked.Context); err != nil {
			return err
		}
		rendered[name] = strings.ReplaceAll(text.String(), "<no value>", "")
	}
	return json.NewEncoder(os.Stdout).Encode(rendered)
}

func functions(engine *template.Template) template.FuncMap {
	all := sprig.TxtFuncMap()
	delete(all, "env") // Helm has neither
	delete(all, "expandenv")
	all["include"] = func(name string, data interface{}) (string, error) {
		var text bytes.Buffer
		err := engine.ExecuteTemplate(&text, name, data)
		return text.String(), err
	}
	all["toYaml"] = func(value interface{}) (string, error) {
		var text bytes.Buffer
		encoder := yaml.NewEncoder(&text)
		encoder.SetIndent(2)
		err := encoder.Encode(value)
		return strings.TrimSuffix(text.String(), "\n"), err
	}
	all["required"] = func(message string, value interface{}) (interface{}, error) {
		if value == nil || value == "" {
			return nil, errors.New(message)
		}
		return value, nil
	}
	return all
}
