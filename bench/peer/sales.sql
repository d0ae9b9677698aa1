-- What bench/sales buys at a Prebid Sales Agent whose database its scripts/setup/init_database_ci.py has filled: two
-- products of one format, and a creative that the ad server has already. (Sending one needs an agent on the internet.)
BEGIN;
CREATE TEMPORARY TABLE format AS SELECT jsonb_build_array(jsonb_build_object(
    'agent_url', 'https://creative.adcontextprotocol.org', 'id', 'display_300x250_image')) AS ids;
UPDATE products SET format_ids = (SELECT ids FROM format) WHERE product_id = 'prod_display_premium';
CREATE TEMPORARY TABLE product ON COMMIT DROP AS SELECT * FROM products WHERE product_id = 'prod_display_premium';
UPDATE product SET product_id = 'prod_display_second';
INSERT INTO products SELECT * FROM product;
CREATE TEMPORARY TABLE price ON COMMIT DROP AS SELECT * FROM pricing_options WHERE product_id = 'prod_display_premium';
UPDATE price SET product_id = 'prod_display_second', id = (SELECT max(id) + 1000 FROM pricing_options);
INSERT INTO pricing_options SELECT * FROM price;
INSERT INTO creatives (creative_id, tenant_id, principal_id, name, format, status, data, agent_url, approved_at)
SELECT 'banner', tenant_id, principal_id, 'Spring banner', 'display_300x250_image', 'approved', '{
    "assets": {
        "banner_image": {
            "asset_type": "image", "url": "https://cdn.acme.example/banner.png", "width": 300, "height": 250
        },
        "click_url": {"asset_type": "url", "url": "https://acme.example/spring", "url_type": "clickthrough"}
    },
    "url": "https://cdn.acme.example/banner.png", "width": 300, "height": 250,
    "click_url": "https://acme.example/spring", "platform_creative_id": "banner-at-the-ad-server"
}', 'https://creative.adcontextprotocol.org', now()
FROM principals WHERE access_token = 'ci-test-token';
COMMIT;
