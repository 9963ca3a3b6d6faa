package toolset

// Tx is one transaction of a Storage.
type Tx = interface {
	Get(key string) ([]byte, bool)
	Put(key string, value []byte) error
	Delete(key string) error
	// Scan visits keys with the prefix in byte order until visit returns false.
	Scan(prefix string, visit func(key string, value []byte) bool) error
}

// Storage is a key space of its own.
type Storage interface {
	View(func(Tx) error) error
	Update(func(Tx) error) error
}

// namePrefix is before the identity in the key under which its name is kept.
const namePrefix = "name/"

func load(storage Storage) (names, error) {
	dealt := names{}
	err := storage.View(func(tx Tx) error {
		return tx.Scan(namePrefix, func(key string, value []byte) bool {
			dealt[key[len(namePrefix):]] = string(value)
			return true
		})
	})
	return dealt, err
}

func save(storage Storage, added names, gone []string) error {
	return storage.Update(func(tx Tx) error {
		for _, id := range gone {
			if err := tx.Delete(namePrefix + id); err != nil {
				return err
			}
		}
		for id, name := range added {
			if err := tx.Put(namePrefix+id, []byte(name)); err != nil {
				return err
			}
		}
		return nil
	})
}
