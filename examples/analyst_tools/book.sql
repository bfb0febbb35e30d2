-- The example's book. Names, figures and dates are made up. Amounts are in whole EUR; a rate is units of `currency` for one EUR.
CREATE TABLE exposure (counterparty TEXT NOT NULL, as_of TEXT NOT NULL, eur INTEGER NOT NULL, PRIMARY KEY (counterparty, as_of)) STRICT;
CREATE TABLE credit_limit (counterparty TEXT NOT NULL, product TEXT NOT NULL, eur INTEGER NOT NULL, used_pct INTEGER NOT NULL, PRIMARY KEY (counterparty, product)) STRICT;
CREATE TABLE rating (counterparty TEXT NOT NULL, agency TEXT NOT NULL, rating TEXT NOT NULL, PRIMARY KEY (counterparty, agency)) STRICT;
CREATE TABLE ratio (company TEXT NOT NULL, ratio TEXT NOT NULL, period TEXT NOT NULL, value_pct REAL NOT NULL, PRIMARY KEY (company, ratio, period)) STRICT;
CREATE TABLE news (company TEXT NOT NULL, published TEXT NOT NULL, headline TEXT NOT NULL) STRICT;
CREATE TABLE position (desk TEXT NOT NULL, asset_class TEXT NOT NULL, eur INTEGER NOT NULL) STRICT;
CREATE TABLE rate (currency TEXT NOT NULL, date TEXT NOT NULL, per_eur REAL NOT NULL, PRIMARY KEY (currency, date)) STRICT;

INSERT INTO exposure VALUES
  ('Orionhausen SpA', '2026-06-30', 231500000), ('Orionhausen SpA', '2026-09-30', 248350000), ('Orionhausen SpA', '2026-11-27', 239700000),
  ('Castelgate SE', '2026-06-30', 87200000), ('Castelgate SE', '2026-09-30', 91460000), ('Castelgate SE', '2026-11-27', 95380000),
  ('Valmont Industries', '2026-06-30', 412500000), ('Valmont Industries', '2026-09-30', 398700000), ('Valmont Industries', '2026-11-27', 405900000),
  ('Terrabridge NV', '2026-09-30', 63100000), ('Terrabridge NV', '2026-11-27', 58240000),
  ('Pennmotors SpA', '2026-09-30', 152800000), ('Pennmotors SpA', '2026-11-27', 149300000),
  ('Banque Lakegas', '2026-09-30', 730400000), ('Banque Lakegas', '2026-11-27', 712600000),
  ('Helvstadt SA', '2026-09-30', 19850000), ('Helvstadt SA', '2026-11-27', 21370000),
  ('Nord Group SE', '2026-09-30', 264100000), ('Nord Group SE', '2026-11-27', 271900000);
INSERT INTO credit_limit VALUES
  ('Orionhausen SpA', 'swap', 320000000, 71), ('Orionhausen SpA', 'repo', 150000000, 38), ('Orionhausen SpA', 'loan', 275000000, 84),
  ('Castelgate SE', 'swap', 125000000, 62), ('Castelgate SE', 'fx_forward', 84000000, 17), ('Castelgate SE', 'guarantee', 36500000, 93),
  ('Valmont Industries', 'loan', 510000000, 79), ('Valmont Industries', 'swap', 240000000, 45),
  ('Terrabridge NV', 'loan', 97000000, 58), ('Pennmotors SpA', 'repo', 184000000, 26), ('Pennmotors SpA', 'swap', 173000000, 81),
  ('Banque Lakegas', 'repo', 860000000, 67), ('Banque Lakegas', 'fx_forward', 432000000, 29), ('Nord Group SE', 'guarantee', 318000000, 53);
INSERT INTO rating VALUES
  ('Orionhausen SpA', 'S&P', 'BBB+'), ('Orionhausen SpA', 'Fitch', 'A-'), ('Castelgate SE', 'Fitch', 'A+'), ('Castelgate SE', 'S&P', 'A'),
  ('Castelgate SE', 'DBRS', 'AA-'), ('Valmont Industries', 'S&P', 'BBB-'), ('Valmont Industries', 'Moody''s', 'BBB'),
  ('Terrabridge NV', 'DBRS', 'BB+'), ('Pennmotors SpA', 'Fitch', 'BBB'), ('Banque Lakegas', 'S&P', 'AA'), ('Nord Group SE', 'S&P', 'A-');
INSERT INTO ratio VALUES
  ('Banque Lakegas', 'CET1', '2026Q3', 15.83), ('Banque Lakegas', 'LCR', '2026Q3', 97.16), ('Banque Lakegas', 'leverage', '2026Q3', 5.42),
  ('Banque Lakegas', 'ROE', 'FY2025', 9.37), ('Banque Lakegas', 'NIM', 'FY2025', 1.64), ('Banque Lakegas', 'cost_income', 'FY2025', 58.29),
  ('Orionhausen SpA', 'ROE', 'FY2025', 11.48), ('Castelgate SE', 'ROE', '2026Q3', 7.92), ('Valmont Industries', 'ROE', 'FY2025', 6.15);
INSERT INTO news VALUES
  ('Orionhausen SpA', '2026-11-25', 'Orionhausen SpA places a five-year bond'), ('Orionhausen SpA', '2026-11-09', 'Orionhausen SpA names a finance chief'),
  ('Castelgate SE', '2026-11-28', 'Castelgate SE wins a port concession'), ('Castelgate SE', '2026-11-12', 'Castelgate SE sells its rail unit'),
  ('Castelgate SE', '2026-10-03', 'Castelgate SE confirms its outlook'), ('Valmont Industries', '2026-11-27', 'Valmont Industries cuts costs'),
  ('Banque Lakegas', '2026-11-18', 'Banque Lakegas reports third-quarter figures'), ('Nord Group SE', '2026-11-21', 'Nord Group SE extends its credit line');
INSERT INTO position VALUES
  ('rates', 'swaps', 124300000), ('rates', 'swaps', 83700000), ('rates', 'swaps', 41200000), ('rates', 'bonds', 215600000), ('rates', 'futures', 37400000),
  ('credit', 'bonds', 96500000), ('credit', 'bonds', 48900000), ('credit', 'loans', 172000000), ('equity', 'options', 26100000), ('equity', 'futures', 18700000),
  ('fx', 'options', 52800000), ('fx', 'swaps', 143900000), ('treasury', 'repos', 385000000), ('treasury', 'repos', 241000000), ('treasury', 'bonds', 167300000),
  ('commodities', 'futures', 29400000), ('commodities', 'options', 15600000);
INSERT INTO rate VALUES
  ('EUR', '2026-09-30', 1.0), ('USD', '2026-09-30', 1.0947), ('GBP', '2026-09-30', 0.8562), ('CHF', '2026-09-30', 0.9384), ('JPY', '2026-09-30', 163.72), ('SEK', '2026-09-30', 11.3825), ('PLN', '2026-09-30', 4.2716), ('CAD', '2026-09-30', 1.5139), ('AUD', '2026-09-30', 1.6478),
  ('EUR', '2026-11-27', 1.0), ('USD', '2026-11-27', 1.0836), ('GBP', '2026-11-27', 0.8491), ('CHF', '2026-11-27', 0.9427), ('JPY', '2026-11-27', 164.58), ('SEK', '2026-11-27', 11.4162), ('PLN', '2026-11-27', 4.2583), ('CAD', '2026-11-27', 1.5274), ('AUD', '2026-11-27', 1.6391);
