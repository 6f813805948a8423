package models

import (
	"context"
	"fmt"
)

// TypeSettings gives what people changed about task types, by type.
func (s *Store) TypeSettings(ctx context.Context) ([]TypeSetting, error) {
	var settings []TypeSetting
	if err := s.reader.WithContext(ctx).Order("type").Find(&settings).Error; err != nil {
		return nil, fmt.Errorf("reading the settings of the types: %w", err)
	}
	return settings, nil
}
