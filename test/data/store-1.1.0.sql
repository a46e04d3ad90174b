CREATE TABLE backups (
    id bigint NOT NULL,
    file text NOT NULL,
    finished_at bigint NOT NULL,
    plants bigint NOT NULL,
    digest text NOT NULL
);
CREATE TABLE heartbeat (
    node bigint NOT NULL,
    beaten_at bigint NOT NULL
);
CREATE TABLE plant_store (
    id bigint NOT NULL,
    schema_version bigint NOT NULL
);
CREATE TABLE plants (
    id bigint NOT NULL,
    name text NOT NULL,
    tag text,
    created_at bigint NOT NULL,
    created_by bigint NOT NULL
);
CREATE TABLE sessions (
    hash bytea NOT NULL,
    token_id bigint NOT NULL,
    expires_at bigint NOT NULL
);
CREATE TABLE tokens (
    id bigint NOT NULL,
    name text NOT NULL,
    hash bytea NOT NULL,
    role text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint,
    last_used_at bigint
);
INSERT INTO heartbeat VALUES (-7850879376896861031, 1795775441003);
INSERT INTO plant_store VALUES (1, 1);
INSERT INTO plants VALUES (-9223372036854775808, '', '', 1795775442294, -1);
INSERT INTO plants VALUES (1, 'Alder', 'Alnus', 1795775442294, -1);
INSERT INTO plants VALUES (2, 'Black alder', 'Alnus glutinosa, Ilex verticillata', 1795775442294, -1);
INSERT INTO plants VALUES (3, 'Common alder', 'Alnus glutinosa', 1795775442294, -1);
INSERT INTO plants VALUES (4, 'False alder', 'Ilex verticillata', 1795775442294, -1);
INSERT INTO plants VALUES (5, 'Gray alder', 'Alnus incana', 1795775442294, -1);
INSERT INTO plants VALUES (6, 'Speckled alder', 'Alnus incana', 1795775442294, -1);
INSERT INTO plants VALUES (7, 'Striped alder', 'Ilex verticillata', 1795775442294, -1);
INSERT INTO plants VALUES (8, 'White alder', 'Alnus incana, Ilex verticillata', 1795775442294, -1);
INSERT INTO plants VALUES (9, 'Almond', 'Prunus amygdalus', 1795775442294, -1);
INSERT INTO plants VALUES (10, 'Tall ambrosia', 'Ambrosia trifida', 1795775442294, -1);
INSERT INTO plants VALUES (11, 'Amy root', 'Apocynum cannabinum', 1795775442294, -1);
INSERT INTO plants VALUES (12, 'Apple', 'Malus domestica', 1795775442294, -1);
INSERT INTO plants VALUES (13, 'apple', 'Maclura pomifera', 1795775442294, -1);
INSERT INTO plants VALUES (14, 'Apple of Sodom', 'Solanum carolinense', 1795775442294, -1);
INSERT INTO plants VALUES (15, 'Apricot', 'Prunus armeniaca', 1795775442294, -1);
INSERT INTO plants VALUES (16, 'Arfaj', 'Rhanterium epapposum', 1795775442294, -1);
INSERT INTO plants VALUES (17, 'Arizona sycamore', 'Platanus wrighitii', 1795775442294, -1);
INSERT INTO plants VALUES (18, 'Arrowwood', 'Cornus florida', 1795775442294, -1);
INSERT INTO plants VALUES (19, 'Indian arrowwood', 'Cornus florida', 1795775442294, -1);
INSERT INTO plants VALUES (20, 'Ash', 'Fraxinus spp.', 1795775442294, -1);
INSERT INTO plants VALUES (9223372036854775807, 'Größter', 'Ёлка 🌲', 1795775442294, -1);
INSERT INTO tokens VALUES (1, 'first-start', '\x4ee767255a363064352aab50836c422b53efa775476f4940bdba8aa7c1aef473', 'create', 1795775436995, NULL, NULL, NULL);
INSERT INTO tokens VALUES (2, 'greenhouse', '\x3df340e249ed0f29a6148f45a95730dccaf2f0ec9c48a9449475ef1101224725', 'create', 1795775441964, NULL, NULL, NULL);
INSERT INTO tokens VALUES (3, 'old', '\x78d1cc95bacd5310732a5b25908133e816200ff888e1e56656d2975313cce71f', 'create', 1795775442100, NULL, 1795775442184, NULL);
ALTER TABLE ONLY backups
    ADD CONSTRAINT backups_pkey PRIMARY KEY (id);
ALTER TABLE ONLY heartbeat
    ADD CONSTRAINT heartbeat_pkey PRIMARY KEY (node);
ALTER TABLE ONLY plant_store
    ADD CONSTRAINT plant_store_pkey PRIMARY KEY (id);
ALTER TABLE ONLY plants
    ADD CONSTRAINT plants_pkey PRIMARY KEY (id);
ALTER TABLE ONLY sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (id);
CREATE UNIQUE INDEX tokens_hash ON tokens USING btree (hash);
CREATE UNIQUE INDEX tokens_name_in_force ON tokens USING btree (name) WHERE (revoked_at IS NULL);
