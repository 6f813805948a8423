package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// chromium is the one browser of all tests. It is started by the first that needs it.
var chromium struct {
	once sync.Once
	ctx  context.Context
	stop context.CancelFunc
	err  error
}

func startBrowser(t *testing.T) context.Context {
	t.Helper()
	chromium.once.Do(func() {
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU,
			chromedp.Flag("disable-quic", true), chromedp.Flag("no-proxy-server", true), chromedp.WindowSize(1280, 900))
		ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
		ctx, _ = chromedp.NewContext(ctx)
		chromium.ctx, chromium.stop = ctx, stop //nolint:fatcontext // the one browser of the whole run; it ends with the allocator
		chromium.err = chromedp.Do(ctx)
	})
	require.NoError(t, chromium.err, "starting the browser; the Debian package is chromium")
	return chromium.ctx
}

// stopBrowser ends the browser, if one was started, and waits for its end.
func stopBrowser() error {
	if chromium.ctx == nil {
		return nil
	}
	err := chromedp.Cancel(chromium.ctx)
	chromium.stop()
	chromedp.FromContext(chromium.ctx).Allocator.Wait()
	return err
}

// look is how somebody looks at the pages.
type look struct {
	scriptless bool
	language   string // en or zh-CN
	dark       bool
	width      int64 // in CSS pixels; 0 is 1280
}

// tab is one page of the browser, with cookies of its own. It belongs to one test.
type tab struct {
	*faults
	t         *testing.T
	ctx       context.Context
	base      string
	look      look
	catalogue map[string]string
	dialogs   chan string
}

// tab opens a tab for the pages of the server.
func (s *server) tab(t *testing.T, l look) *tab {
	t.Helper()
	l.language = cmp.Or(l.language, "en")
	b := &tab{t: t, base: s.base, look: l, faults: &faults{}, dialogs: make(chan string, 100), catalogue: catalogueOf(t, l.language)}
	ctx, cancel := chromedp.NewContext(startBrowser(t), chromedp.WithNewBrowserContext(), chromedp.WithListener(b.hear))
	b.ctx = ctx
	t.Cleanup(func() {
		left := b.left()
		if len(left) > 0 {
			t.Errorf("the browser found fault with the pages:\n%s", strings.Join(left, "\n"))
		}
		b.keepPicture()
		cancel()
	})
	scheme := "light"
	if l.dark {
		scheme = "dark"
	}
	b.do(
		call(emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}),
		call(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: l.scriptless}),
		call(network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Accept-Language": l.language}}),
		call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}}),
		chromedp.EmulateViewport(cmp.Or(l.width, 1280), 900),
	)
	go b.closeDialogs()
	return b
}

func call[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, command, params)
		return err
	})
}

// closeDialogs answers the dialogs of the page, since each stops it until somebody does.
func (b *tab) closeDialogs() {
	for {
		select {
		case <-b.ctx.Done():
			return
		case <-b.dialogs:
			// The dialog is a fault already; what comes of closing it does not matter.
			_, _ = chromedp.Call(b.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
		}
	}
}

// faults are what must not happen in a page: errors in the console, dialogs, requests to other servers.
type faults struct {
	mu       sync.Mutex
	found    []string
	forgiven []string
}

func (f *faults) add(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.found = append(f.found, fmt.Sprintf(format, args...))
}

// forgive leaves out the faults that have one of the texts.
func (f *faults) forgive(texts ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forgiven = append(f.forgiven, texts...)
}

// left are the faults that nothing forgives.
func (f *faults) left() (left []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
next:
	for _, fault := range f.found {
		for _, text := range f.forgiven {
			if strings.Contains(fault, text) {
				continue next
			}
		}
		left = append(left, fault)
	}
	return left
}

// hear keeps the faults. It runs in the loop that reads from the browser, so it must not wait.
func (b *tab) hear(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		text, _ := json.Marshal(e.ExceptionDetails)
		b.add("exception: %s", text)
	case *runtime.EventConsoleAPICalled:
		text, _ := json.Marshal(e.Args)
		b.add("console.%s: %s", e.Type, text)
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			b.add("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL)
		}
	case *page.EventJavascriptDialogOpening:
		b.add("dialog: %s", e.Message)
		b.dialogs <- e.Message
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, b.base+"/") && !strings.HasPrefix(e.Request.URL, "data:") {
			b.add("request to another server: %s", e.Request.URL)
		}
	}
}

// keepPicture saves how the page looks, when the test has failed.
func (b *tab) keepPicture() {
	if !b.t.Failed() {
		return
	}
	dir, err := os.MkdirTemp("", "reax-browser-")
	if err != nil {
		b.t.Log(err)
		return
	}
	path := filepath.Join(dir, strings.ReplaceAll(b.t.Name(), "/", "_")+".png")
	picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err := errors.Join(err, os.WriteFile(path, picture, 0o600)); err != nil {
		b.t.Log("no picture of the page: ", err)
	}
	text, err := eval[string](b, `location.href + "\n" + document.body.innerText`)
	b.t.Logf("the page is in %s and says (%v):\n%.4000s", path, err, text)
}

var catalogues sync.Map

// catalogueOf reads the texts of the dashboard. Of a text that depends on a number it is the one for many.
func catalogueOf(t *testing.T, language string) map[string]string {
	t.Helper()
	if texts, ok := catalogues.Load(language); ok {
		return texts.(map[string]string)
	}
	files, err := filepath.Glob(filepath.Join("..", "views", "locales", language, "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "no texts in %s", language)
	texts := map[string]string{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		var all map[string]any
		require.NoError(t, json.Unmarshal(raw, &all), file)
		for key, value := range all {
			if forms, ok := value.(map[string]any); ok {
				value = forms["other"]
			}
			texts[key] = fmt.Sprint(value)
		}
	}
	catalogues.Store(language, texts)
	return texts
}

// says is the text of the message catalogue in the language of the tab, up to its first variable.
func (b *tab) says(key string) string {
	b.t.Helper()
	require.Contains(b.t, b.catalogue, key, "the catalogue has no such text")
	text, _, _ := strings.Cut(b.catalogue[key], "{{")
	return strings.TrimSpace(text)
}
