package actors

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/secure/precis"
)

// maxHashes is how many passwords are worked on at one time: each takes a core and the memory of its cost.
const maxHashes = 2

const (
	saltBytes = 16
	hashBytes = 32
	// maxCostMemory keeps a damaged row from taking all memory, in KiB.
	maxCostMemory = 1 << 20
)

// passwordCost is what it costs to try a password.
type passwordCost struct {
	memory  uint32 // KiB
	time    uint32 // passes
	threads uint8
}

// defaultCost is some 40 ms and 19 MiB.
var defaultCost = passwordCost{memory: 19 << 10, time: 2, threads: 1}

// newPassword checks a new password and gives its hash.
func (a *Accounts) newPassword(ctx context.Context, nameKey, password string) (string, error) {
	text, err := precis.OpaqueString.String(password)
	switch {
	case utf8.RuneCountInString(password) < MinPasswordRunes:
		return "", badField("/password", fmt.Sprintf("must have at least %d characters", MinPasswordRunes))
	case len(password) > MaxPasswordBytes:
		return "", badField("/password", fmt.Sprintf("is longer than %d bytes", MaxPasswordBytes))
	case err != nil:
		return "", badField("/password", "has characters that a keyboard cannot type")
	case NameKey(password) == nameKey && nameKey != "":
		return "", badField("/password", "must not be the name")
	}
	salt := make([]byte, saltBytes)
	_, _ = rand.Read(salt) // which never fails
	hash, err := a.hash(ctx, a.cost, text, salt)
	if err != nil {
		return "", err
	}
	return phc(a.cost, salt, hash), nil
}

// noPassword is a hash that no password has, and that takes as long to try as any other.
func (a *Accounts) noPassword() string {
	return phc(a.cost, make([]byte, saltBytes), make([]byte, hashBytes))
}

// hash works out a hash, when its turn has come.
func (a *Accounts) hash(ctx context.Context, cost passwordCost, password string, salt []byte) ([]byte, error) {
	select {
	case a.hashing <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting to check a password: %w", context.Cause(ctx))
	}
	defer func() { <-a.hashing }()
	return argon2.IDKey([]byte(password), salt, cost.time, cost.memory, cost.threads, hashBytes), nil
}

// matches reports whether a password has a hash.
func (a *Accounts) matches(ctx context.Context, encoded, password string) (bool, error) {
	cost, salt, want, err := parsePHC(encoded)
	if err != nil {
		return false, fmt.Errorf("reading the hash of a password: %w", err)
	}
	if prepared, err := precis.OpaqueString.String(password); err == nil && len(password) <= MaxPasswordBytes {
		password = prepared
	} else {
		password = "" // no account has it; to try it must take as long
	}
	got, err := a.hash(ctx, cost, password, salt)
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(got, want) == 1, nil
}

func phc(cost passwordCost, salt, hash []byte) string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, cost.memory, cost.time, cost.threads,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(hash))
}

// parsePHC reads what phc has written.
func parsePHC(text string) (cost passwordCost, salt, hash []byte, err error) {
	parts := strings.Split(text, "$")
	if len(parts) != 6 || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return cost, nil, nil, errors.New("it is not one of argon2id")
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &cost.memory, &cost.time, &cost.threads); err != nil {
		return cost, nil, nil, err
	}
	if cost.memory > maxCostMemory || cost.time < 1 || cost.threads < 1 {
		return cost, nil, nil, errors.New("its cost is out of bounds")
	}
	if salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err != nil {
		return cost, nil, nil, err
	}
	if hash, err = base64.RawStdEncoding.DecodeString(parts[5]); err == nil && len(hash) != hashBytes {
		err = errors.New("it has another length")
	}
	return cost, salt, hash, err
}
