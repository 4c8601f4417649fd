package deadline_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"testing/synctest"
	"time"
)

// sqlDriver has queries that take as long as their text says, and notes transactions.
type sqlDriver struct{ tr *trace }

func (d sqlDriver) Connect(context.Context) (driver.Conn, error) { return sqlConn(d), nil }
func (d sqlDriver) Driver() driver.Driver                        { return d }
func (d sqlDriver) Open(string) (driver.Conn, error)             { return sqlConn(d), nil }

type sqlConn struct{ tr *trace }

func (c sqlConn) Prepare(string) (driver.Stmt, error) { return nil, driver.ErrSkip }
func (c sqlConn) Close() error                        { return nil }
func (c sqlConn) Begin() (driver.Tx, error)           { return sqlTx(c), nil }

func (c sqlConn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) { return sqlTx(c), nil }

func (c sqlConn) QueryContext(ctx context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	d, err := time.ParseDuration(query)
	if err != nil {
		return nil, err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return sqlRows(c), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type sqlTx struct{ tr *trace }

func (t sqlTx) Commit() error   { t.tr.add("committed"); return nil }
func (t sqlTx) Rollback() error { t.tr.add("rolled back"); return nil }

// sqlRows has no end.
type sqlRows struct{ tr *trace }

func (sqlRows) Columns() []string { return []string{"n"} }

func (r sqlRows) Close() error { r.tr.add("rows closed"); return nil }

func (sqlRows) Next(dest []driver.Value) error {
	if len(dest) != 1 {
		return io.EOF
	}
	dest[0] = int64(1)
	return nil
}

// withDB runs fn with a pool of one connection.
func withDB(tr *trace, fn func(db *sql.DB)) {
	db := sql.OpenDB(sqlDriver{tr})
	db.SetMaxOpenConns(1)
	fn(db)
	synctest.Wait()
	tr.add("close: %v, %d in use", db.Close(), db.Stats().InUse)
}

var sqlUses = []use{
	{"database/sql, a query in time and one that is not", func(parent context.Context, in frame, tr *trace) {
		withDB(tr, func(db *sql.DB) {
			_ = in(parent, time.Second, func(ctx context.Context) error {
				var n int
				tr.add("%v, %d", db.QueryRowContext(ctx, "300ms").Scan(&n), n)
				tr.add("%v", db.QueryRowContext(ctx, "1h").Scan(&n))
				return nil
			})
		})
	}, []string{
		"300ms rows closed", "300ms <nil>, 1",
		"1s context deadline exceeded",
		"1s close: <nil>, 0 in use",
	}},

	{"database/sql, rows end at the deadline", func(parent context.Context, in frame, tr *trace) {
		withDB(tr, func(db *sql.DB) {
			_ = in(parent, time.Second, func(ctx context.Context) error {
				rows, err := db.QueryContext(ctx, "0s")
				if err != nil {
					return err
				}
				defer func() { _ = rows.Close() }()
				n := 0
				for rows.Next() {
					n++
					time.Sleep(300 * time.Millisecond)
				}
				tr.add("%d rows, %v", n, rows.Err())
				return rows.Err()
			})
		})
	}, []string{"1s rows closed", "1.2s 4 rows, context deadline exceeded", "1.2s close: <nil>, 0 in use"}},

	{"database/sql, rows that are left open end at the return", func(parent context.Context, in frame, tr *trace) {
		withDB(tr, func(db *sql.DB) {
			_ = in(parent, time.Second, func(ctx context.Context) error {
				rows, err := db.QueryContext(ctx, "300ms") // that is the point
				_ = rows
				return err
			})
		})
	}, []string{"300ms rows closed", "300ms close: <nil>, 0 in use"}},

	{"database/sql, a transaction is committed", func(parent context.Context, in frame, tr *trace) {
		withDB(tr, func(db *sql.DB) {
			_ = in(parent, time.Second, func(ctx context.Context) error {
				tx, err := db.BeginTx(ctx, nil)
				if err != nil {
					return err
				}
				return tx.Commit()
			})
		})
	}, []string{"0s committed", "0s close: <nil>, 0 in use"}},

	{"database/sql, a transaction is rolled back at the deadline", func(parent context.Context, in frame, tr *trace) {
		withDB(tr, func(db *sql.DB) {
			_ = in(parent, time.Second, func(ctx context.Context) error {
				tx, err := db.BeginTx(ctx, nil)
				if err != nil {
					return err
				}
				time.Sleep(2 * time.Second)
				tr.add("commit, done: %v", errors.Is(tx.Commit(), sql.ErrTxDone))
				return nil
			})
		})
	}, []string{"1s rolled back", "2s commit, done: true", "2s close: <nil>, 0 in use"}},

	{"database/sql, a transaction is rolled back at the return", func(parent context.Context, in frame, tr *trace) {
		withDB(tr, func(db *sql.DB) {
			var tx *sql.Tx
			_ = in(parent, time.Second, func(ctx context.Context) error {
				var err error
				tx, err = db.BeginTx(ctx, nil)
				return err
			})
			synctest.Wait()
			tr.add("commit, done: %v", errors.Is(tx.Commit(), sql.ErrTxDone))
		})
	}, []string{"0s rolled back", "0s commit, done: true", "0s close: <nil>, 0 in use"}},

	{"database/sql, waiting for a connection", func(parent context.Context, in frame, tr *trace) {
		withDB(tr, func(db *sql.DB) {
			conn, err := db.Conn(parent)
			if err != nil {
				tr.add("%v", err)
				return
			}
			_ = in(parent, time.Second, func(ctx context.Context) error {
				_, err := db.Conn(ctx) // there is none
				tr.add("%v", err)
				return err
			})
			_ = conn.Close()
		})
	}, []string{"1s context deadline exceeded", "1s close: <nil>, 0 in use"}},
}
